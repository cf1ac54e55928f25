# syntax=docker/dockerfile:1
# The GPU stack for x86-64: training, rollout, and the student, judge and tutor servers. docs/container.md explains it.
#   docker build --platform linux/amd64 -t eduardo .
#   docker run --rm --gpus all --ipc=host -v "$PWD:/workspace" eduardo python -m eduardo.train --help
#
# Libraries of CUDA come with the packages of requirements/gpu.txt. The image adds the compiler and headers that Triton,
# FlashInfer and TileLang need to build kernels for the GPU they meet; the driver is the host's.
ARG CUDA_IMAGE=nvidia/cuda:13.0.1-devel-ubuntu24.04
FROM ${CUDA_IMAGE}

# Ubuntu 24.04 has Python 3.12. Versions of Debian packages follow the base image, hence no pins.
# hadolint ignore=DL3008
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        build-essential git python3 python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*

ENV VIRTUAL_ENV=/opt/eduardo \
    PATH=/opt/eduardo/bin:/usr/local/cuda/bin:$PATH \
    CUDA_HOME=/usr/local/cuda \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYTHONUNBUFFERED=1 \
    RAY_USAGE_STATS_ENABLED=0 \
    VLLM_NO_USAGE_STATS=1 \
    DO_NOT_TRACK=1 \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility

# The packages change seldom and are large: a layer of their own, before the code. Indexes: --build-arg PIP_INDEX_URL=...
ARG PIP_INDEX_URL
WORKDIR /build
COPY requirements/gpu.txt requirements/gpu.txt
RUN python3 -m venv "$VIRTUAL_ENV" && pip install --no-deps --requirement requirements/gpu.txt

COPY pyproject.toml README.md LICENSE ./
COPY configs configs
COPY eduardo eduardo
RUN pip install --no-deps . && python -c "from eduardo.config import compose; compose([])"

# Data, models and runs are mounted here. With a checkout mounted, its code is the one that runs.
WORKDIR /workspace
CMD ["python", "-m", "eduardo", "--help"]
