"""The front door: command line, pytest plugin, reports and pages."""
