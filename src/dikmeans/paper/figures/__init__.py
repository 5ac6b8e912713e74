"""The paper's figures: what each is made from, how it is computed, drawn and kept.

Data flows one way: data tasks -> figure_inputs (data and fits, made once) -> paper_figures
(computed, then drawn by the modules ``plot_*``) -> figure_folder (files, and figures.json on what
made them).
"""
