# One image for the worker, for `fascicle setup` and for the `fascicle` command. See docs/deployment.md.
FROM python:3.11.14-slim-bookworm AS build

ENV UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy \
    UV_NO_CACHE=1 \
    UV_PYTHON_DOWNLOADS=never
WORKDIR /build

# Everything that is installed, uv and the build's own tools included, is checked against the lock's hashes.
COPY requirements.lock ./
COPY deploy/requirements.lock deploy/
RUN sed -n '/^uv==/,/[^\\]$/p' requirements.lock > uv.lock \
    && pip install --no-cache-dir --disable-pip-version-check --root-user-action=ignore --require-hashes -r uv.lock \
    && python -m venv --without-pip /opt/fascicle \
    && uv pip sync --python /opt/fascicle/bin/python --require-hashes deploy/requirements.lock

# What changes often comes last: the layers above are kept.
COPY pyproject.toml README.md LICENSE worker.py ship_rules.yaml ./
COPY sites.d sites.d
COPY simulator simulator
COPY fascicle fascicle
COPY activities activities
COPY workflows workflows
COPY starter starter
RUN uv build --wheel --build-constraints requirements.lock --require-hashes --out-dir dist \
    && uv pip install --python /opt/fascicle/bin/python --no-deps dist/*.whl


FROM python:3.11.14-slim-bookworm

LABEL org.opencontainers.image.title="Fascicle" \
      org.opencontainers.image.description="Follows works that appear in parts, on Temporal" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"

# A fixed id, so that volumes keep their owner from one image to the next.
RUN groupadd --gid 10001 fascicle \
    && useradd --uid 10001 --gid fascicle --no-create-home --home-dir /tmp --shell /usr/sbin/nologin fascicle \
    && install -d -o fascicle -g fascicle -m 0750 /data

COPY --from=build /opt/fascicle /opt/fascicle
WORKDIR /app
COPY ship_rules.yaml ./
COPY sites.d sites.d

# The ops pages are asked from other containers; what is published outside is the engine's business.
ENV PATH=/opt/fascicle/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    FASCICLE_DATA_DIR=/data \
    FASCICLE_LOG_FORMAT=json \
    FASCICLE_OPS_HOST=0.0.0.0 \
    FASCICLE_OPS_PORT=8000
VOLUME /data
EXPOSE 8000
USER 10001:10001
STOPSIGNAL SIGTERM
# Whether it is alive, not whether it is ready: an engine that replaces the unhealthy must not do so to a worker
# that waits for Temporal.
HEALTHCHECK --interval=15s --timeout=10s --start-period=90s --retries=3 \
    CMD ["python", "-P", "-m", "fascicle.web.probe", "/health"]
CMD ["python", "-P", "-m", "worker"]
