"""The studio: a local web application in which a person corrects a clustering, and goes on.

    browser <── pages, pictures, events ── api ── Studio ── Session ── Journal (edits on the disk)
                                                     └── Refit (a thread) ── refine_run ── RUN-2

`gate` decides who may enter; `session` is the run that is open, with the edits of its journal;
every edit is on the disk before it is answered. Views that only look are pages of the report. Needs
the extra "studio". See docs/studio.md.
"""

from dikmeans.studio.server import PortTakenError, serve
from dikmeans.studio.studio import Studio, open_studio

__all__ = ["PortTakenError", "Studio", "open_studio", "serve"]
