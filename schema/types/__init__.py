"""The GraphQL types, a file per topic."""
