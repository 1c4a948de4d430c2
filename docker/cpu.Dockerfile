# The program without CUDA:
#   docker build -f docker/cpu.Dockerfile -t underlap .
#   docker run --rm -v "$PWD:/data" underlap run quick -o out
FROM debian:12 AS build
COPY . /src
WORKDIR /src
# As in bench/run: installs what is missing, builds; and packs that with its libraries.
RUN scripts/package -o /packages tar \
 && mkdir /opt/underlap && tar -xzf /packages/underlap-*.tar.gz -C /opt/underlap --strip-components=1

FROM debian:12
COPY --from=build /opt/underlap /opt/underlap
ENV PATH=/opt/underlap/bin:$PATH
WORKDIR /data
ENTRYPOINT ["underlap"]
