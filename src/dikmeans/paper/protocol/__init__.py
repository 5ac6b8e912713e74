"""The protocol of the paper's Table 1: which runs are made, how they are kept, what is reported.

Data flows one way: data_tasks, table_models -> run_protocol -> results_file (run_record) ->
table_cells -> table_text. Everything after the results file can be made again from it without a
single run.
"""
