"""Tells what a benchmark is held to: the aims that it missed are its last lines, and its status is then 1."""

import sys


class Aims:
    def __init__(self):
        self.missed, self.held = [], 0

    def at_most(self, what, measured, most):
        self.that(measured <= most, f"{what} is {measured:.2f}, and at most {most:g} is the aim")

    def that(self, is_met, otherwise):
        """`otherwise` is the line of an aim that is missed."""
        self.held += bool(is_met)
        if not is_met:
            self.missed.append(otherwise)

    def end(self):
        for line in self.missed:
            print(f"MISSED: {line}")
        if self.missed or not self.held:
            sys.exit(1)
        print(f"all {self.held} aims are met")
