"""The GraphQL queries, a file per topic."""
