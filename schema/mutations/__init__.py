"""The GraphQL mutations, a file per topic."""
