# The program with its CUDA backend, and the libraries that it opens:
#   docker build -f docker/cuda.Dockerfile -t underlap-cuda .
#   docker run --rm --gpus all -v "$PWD:/data" underlap-cuda run gpu/dp_overlap -o out
ARG CUDA=12.8.1
ARG SYSTEM=ubuntu24.04
FROM nvidia/cuda:${CUDA}-cudnn-devel-${SYSTEM} AS build
COPY . /src
WORKDIR /src
# As in bench/run: installs what is missing, builds; and packs that with its libraries.
RUN scripts/package -o /packages --cuda tar \
 && mkdir /opt/underlap && tar -xzf /packages/underlap-*.tar.gz -C /opt/underlap --strip-components=1

FROM nvidia/cuda:${CUDA}-cudnn-runtime-${SYSTEM}
# What these images lack of what the program opens (CUPTI) and of what NCCL does (libibverbs).
RUN apt-get update \
 && apt-get install -y --no-install-recommends "cuda-cupti-$(echo "$CUDA_VERSION" | cut -d. -f1,2 | tr . -)" libibverbs1 \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/underlap /opt/underlap
ENV PATH=/opt/underlap/bin:$PATH
WORKDIR /data
ENTRYPOINT ["underlap"]
