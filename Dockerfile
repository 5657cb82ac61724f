# One image for the three processes: api, worker and scep-gateway (the command tells which); beside them the commands doctor
# and scep-client.
FROM node:26.10.0-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --no-audit --no-fund && npm cache clean --force
COPY domain domain
COPY pki pki
COPY storage storage
COPY authority authority
COPY workflows workflows
COPY activities activities
COPY worker worker
COPY api api
COPY scep-gateway scep-gateway
COPY scep-client scep-client
COPY doctor doctor
USER node
CMD ["node", "--enable-source-maps", "api/main.ts"]
