"""Simulated answers to questions: see activetest.simulation.simulate for what each can do."""
