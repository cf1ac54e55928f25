"""A pool of students: the environment test with other models and personas, as a matrix tutor × student."""
