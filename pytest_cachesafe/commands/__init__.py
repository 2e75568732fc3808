"""One file per subcommand: `add` declares its options, `run` returns what to print and the exit status."""
