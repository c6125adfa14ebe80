//! The same nodes, walked in small steps of time: nothing is predicted, everything is noticed.


