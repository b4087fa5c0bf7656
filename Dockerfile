# One image for the server, its worker and its migrations. The database is another; see compose.yaml.
FROM python:3.11-slim-bookworm AS build

WORKDIR /source
COPY pyproject.toml hatch_build.py project-url.txt constraints.txt README.md LICENSE ./
COPY protocols ./protocols
COPY shared ./shared
COPY client ./client
COPY server ./server
# The build's own tools live in another environment than what is shipped.
RUN python -m venv /build \
 && /build/bin/pip install --no-cache-dir --constraint constraints.txt hatchling \
 && /build/bin/pip wheel --no-build-isolation --no-deps --wheel-dir /wheels . ./server
RUN python -m venv /opt/hushpoll \
 && /opt/hushpoll/bin/pip install --no-cache-dir --constraint constraints.txt \
      /wheels/hushpoll-*.whl "$(ls /wheels/hushpoll_server-*.whl)[redis,train,oidc,pdf]"

FROM python:3.11-slim-bookworm

# LightGBM's threads, for jobs that train; and what WeasyPrint lays out reports as PDF with.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      libgomp1 libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 fonts-dejavu-core \
 && rm -rf /var/lib/apt/lists/*
RUN groupadd --gid 10001 hushpoll \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin hushpoll \
 && install --directory --owner 10001 --group 10001 --mode 700 /data
COPY --from=build /opt/hushpoll /opt/hushpoll

ENV PATH=/opt/hushpoll/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    NUMBA_CACHE_DIR=/tmp/numba \
    MPLCONFIGDIR=/tmp/matplotlib \
    HUSHPOLL_ADMIN_TOKEN_FILE=/data/admin-token
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=3)"]
ENTRYPOINT ["hushpoll"]
CMD ["serve", "--host", "0.0.0.0"]
