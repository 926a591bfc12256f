"""llama.cpp's own HTTP server on loopback, until it is told to end.

    local_model_server.py MODEL PORT       with the Python that has xllamacpp
"""

import signal
import sys

import xllamacpp  # type: ignore[import-not-found]  # in an environment of its own

params = xllamacpp.CommonParams()
params.model.path, params.hostnames, params.port = sys.argv[1], ["127.0.0.1"], int(sys.argv[2])
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # two stall on a busy machine
params.n_ctx, params.n_parallel = 16384, 1
server = xllamacpp.Server(params)
signal.sigwait({signal.SIGINT, signal.SIGTERM})
