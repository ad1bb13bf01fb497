"""Tools for models: one registry of names, descriptions, schemas and what they do, for every face that offers them."""
