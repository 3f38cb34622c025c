"""Pictures of reports: see activetest.study.plots for what each file has."""
