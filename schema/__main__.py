"""Prints the schema, as kept in schema.graphql."""

import sys

from schema import build_schema

sys.stdout.write(build_schema().as_str() + "\n")
