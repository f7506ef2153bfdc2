"""The command line: click commands, one file per command group, no numerics."""
