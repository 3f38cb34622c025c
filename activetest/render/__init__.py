"""Output formats: render(report), and status and simulation where a format shows these too."""
