"""The REST face, for services that do not speak GraphQL: the same use cases, the same answers."""
