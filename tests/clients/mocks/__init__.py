"""Files as telescopes and recorders write them, of numbers that a test gives: `recorders` (GUPPI RAW, PSRDADA),
`packets` (VDIF, LWA DRX), `hdf5` (the HDF5 formats), `filterbanks` (SIGPROC, PSRFITS), `chunks` (filters of HDF5),
and `every`: one small archive of each format that the program reads."""
