"""Model servers: `vllm serve` as a child process, and the files by which others find it."""
