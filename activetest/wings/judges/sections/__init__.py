"""Sections of reports: see activetest.render.sections for what each file has."""
