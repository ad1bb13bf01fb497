"""The service's faces, its settings, and the one place that wires everything."""
