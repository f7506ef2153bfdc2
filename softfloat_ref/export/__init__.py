"""A circuit printed in other languages: SystemVerilog, C, SMT-LIB 2, BTOR2."""
