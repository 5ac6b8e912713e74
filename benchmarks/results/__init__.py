"""Every table and picture of `docs/results`, made by one command: ``make results``.

A part (`catalog`) is a command whose output stands on a page between two marks (`page`), below a
line that says of which commit it is, when and on what kind of machine it was made (`provenance`).
``make results`` makes the parts that are missing or older than the code.
"""
