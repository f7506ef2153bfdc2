"""The command line: click commands, one file a command group, no numerics."""
