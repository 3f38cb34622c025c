"""Findings of reports: see activetest.study.findings for what each can do."""
