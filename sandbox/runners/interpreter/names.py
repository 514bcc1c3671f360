"""Lists of names in a sentence."""


def names_in_short(names, characters_max=600):
    shown, size = [], 0
    for name in names:
        size += len(name) + 2
        if size > characters_max and shown:
            return f"{', '.join(shown)} and {len(names) - len(shown)} more"
        shown.append(name[:characters_max])
    return ", ".join(shown)
