"""SQLite behind the domain's ports."""
