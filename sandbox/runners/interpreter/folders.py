"""Folders without `shutil` and `tempfile`: files of the user's may have these names, and be imported already."""

import os


def make_folder(prefix):
    """A new one that nobody else can look into; its path."""
    path = prefix + os.urandom(8).hex()
    os.mkdir(path, 0o700)
    return path


def remove_folder(path):
    """Whatever of it can be removed; links in it are not followed."""
    for folder, folders, files in os.walk(path, topdown=False):
        for name in files + folders:
            inner = os.path.join(folder, name)
            _try(os.rmdir if name in folders and not os.path.islink(inner) else os.unlink, inner)
    _try(os.rmdir, path)


def _try(remove, path):
    try:
        remove(path)
    except OSError:
        pass  # it is gone, or somebody keeps it
