"""How far a judge is from people, whose labels are the truth: its section of reports."""
