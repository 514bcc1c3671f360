"""Regular expressions that most runs do not need: importing `re` takes as long as a sixth of all that a start imports."""


class Pattern:
    """A pattern of re, compiled when it is first used. Its flags stand in its text."""

    def __init__(self, text):
        self._text = text

    def __getattr__(self, method):
        import re

        compiled = re.compile(self._text)
        for name in ("search", "match", "fullmatch", "sub", "split"):
            setattr(self, name, getattr(compiled, name))
        return getattr(compiled, method)
