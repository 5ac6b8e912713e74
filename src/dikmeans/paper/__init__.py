"""The reproduction of the paper: what only it needs. Nothing outside this package imports it.

baselines/          the deep clustering models that the paper compares with
protocol/           which runs are made, the file that keeps them, and the table made from it
figures/            the paper's figures
label_free_search   the choice of hyper-parameters without labels
cli/                the commands ``dikmeans reproduce table`` and ``dikmeans reproduce figures``
"""
