"""Whether a report is worth making.

`weigh` asks everything. `running`: is the code called; `sending`: is the text sent; `prefix`: does anything stand
behind the value that another request has in common; `mechanism` and its neighbours here: is it another one next time.
"""
