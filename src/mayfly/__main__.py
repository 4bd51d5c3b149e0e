"""`python -m mayfly`: the command, where it is not on the PATH."""

from mayfly.cli import main

main()
