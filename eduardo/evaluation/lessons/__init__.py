"""The preference test: lessons on the test rows of Education Dialogue, compared with the data set's own."""
