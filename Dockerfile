# docker build -t believable .
# docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/data" believable audit predictions.csv --html report.html
ARG PYTHON=3.13

# The full image has a C compiler, for the kernels.
FROM python:${PYTHON} AS builder
WORKDIR /source
COPY . .
RUN python -m venv /opt/believable \
    && wheel=$(mktemp -d) \
    && python -m pip wheel --no-cache-dir --no-deps --wheel-dir "$wheel" . \
    && /opt/believable/bin/python -m pip install --no-cache-dir "$(echo "$wheel"/*.whl)[all]" \
    && BELIEVABLE_KERNELS=compiled /opt/believable/bin/believable --version

FROM python:${PYTHON}-slim
COPY --from=builder /opt/believable /opt/believable
# Nothing is written outside /data and /tmp, so the container can run as any user and with --read-only --tmpfs /tmp.
ENV PATH=/opt/believable/bin:$PATH \
    MPLCONFIGDIR=/tmp/matplotlib \
    PYTHONDONTWRITEBYTECODE=1
RUN useradd --system --no-create-home --uid 10001 believable
USER 10001
WORKDIR /data
ENTRYPOINT ["believable"]
CMD ["--help"]
