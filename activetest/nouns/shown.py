"""Objects that a notebook shows as they are: pictures, and whole pages in frames."""

import html


class Picture(str):
    """A picture as SVG, which a notebook draws; as text it is the content of an .svg file."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        """The picture, for notebooks."""
        return str(self)

    def __repr__(self) -> str:
        """One line."""
        return f"<Picture: SVG of {len(self):,} characters>"


class WholePage(str):
    """A page as HTML, which a notebook shows in a frame; as text it is that of an .html file.

    The frame keeps the page's style from the notebook's, and runs no script.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The page in its frame, for notebooks."""
        return (
            f'<iframe sandbox="" srcdoc="{html.escape(self)}" title="the report as a page" '
            'style="width:100%;height:45em;border:1px solid rgba(128,128,128,.5)"></iframe>'
        )

    def __repr__(self) -> str:
        """One line."""
        return f"<WholePage: HTML of {len(self):,} characters>"
