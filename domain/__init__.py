"""Values, rules, ports and use cases: no I/O, no clock, no framework."""
