"""The sections of a report: a file each, which every format shows.

A file states as literals at its head:

    PLACE    where the section stands among the others
    TITLE    its heading on a page
    OF       the part of the report that it is about; without it there is no section
    PAGED    whether only pages show it: it is about what numbers rest on

and has `write(report, extent)`, the blocks of the section. It may have `lead(report)`, what of it
stands under the headline, and `read(report)`, its {key: value} of the JSON document, whose keys
KEYS lists: they are null in a report without the section.
"""
