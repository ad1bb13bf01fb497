"""The search index: derived from rows and files, apart from them in files of its own, and built anew when in doubt."""
