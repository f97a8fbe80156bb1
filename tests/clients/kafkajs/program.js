// kafkajs: all steps but `read`, one line of JSON in and one out for each (docs/reference/clients.md).
'use strict'

const { appendFileSync, createReadStream, existsSync, readFileSync } = require('node:fs')
const { createInterface } = require('node:readline')
const { setTimeout } = require('node:timers/promises')
const { CompressionCodecs, CompressionTypes, ConfigResourceTypes, Kafka, logLevel } = require('kafkajs')
const lz4 = require('lz4js')
const xxhash = require('lz4js/xxh32.js')
const snappy = require('snappyjs')
const { ZstdCodec } = require('zstd-codec')
const transactions = require('./transactions.js')

const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}
const ACKS = { 0: 0, 1: 1, all: -1 }
const DEFAULT_CONFIG = 5
const TOPIC_ALREADY_EXISTS = 36 // which kafkajs tells as `false`
const REQUEST_BYTES = 500_000 // of one send, which is one batch for each partition

// kafkajs compresses gzip alone; other codecs are given to it.
function codec(compress) {
  return () => ({
    compress: async encoder => Buffer.from(compress(encoder.buffer)),
    decompress: async () => {
      throw new Error('there is nothing to be read')
    },
  })
}

// A frame whose blocks are said to be independent, as other clients want it. They are: lz4js has
// blocks of 4 MiB, and here a frame is one block.
function lz4Frame(content) {
  if (content.length > 4 << 20) throw new Error(`${content.length} bytes are more than one block`)
  const frame = lz4.compress(content)
  frame[4] |= 0x20
  frame[6] = xxhash.hash(0, frame, 4, 2) >> 8 // of the two bytes before it
  return frame
}

function useCodecs(zstd) {
  CompressionCodecs[CompressionTypes.Snappy] = codec(snappy.compress)
  CompressionCodecs[CompressionTypes.LZ4] = codec(lz4Frame)
  CompressionCodecs[CompressionTypes.ZSTD] = codec(content => zstd.compress(content))
}

function kafka(step) {
  const retry = { retries: 3 }
  return new Kafka({ brokers: [step.bootstrap], logLevel: logLevel.NOTHING, retry, ...login(step.login) })
}

// Settings of a SASL_SSL listener. ca: file of the authority's certificate.
function login(given) {
  if (!given) return {}
  const mechanism = given.mechanism.toLowerCase()
  const sasl = { mechanism, username: given.user, password: given.password }
  if (mechanism === 'oauthbearer') sasl.oauthBearerProvider = async () => ({ value: given.token })
  return { ssl: { ca: [readFileSync(given.ca)] }, sasl }
}

// A step of the admin client.
function administer(take) {
  return async step => {
    const admin = kafka(step).admin()
    await admin.connect()
    try {
      return await take(admin, step)
    } finally {
      await admin.disconnect()
    }
  }
}

async function createTopic(admin, { topic, partitions, configs }) {
  const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }))
  const topics = [{ topic, numPartitions: partitions, replicationFactor: 1, configEntries }]
  const created = await admin.createTopics({ topics, waitForLeaders: false })
  if (!created) throw Object.assign(new Error('it exists'), { code: TOPIC_ALREADY_EXISTS })
}

async function createPartitions(admin, { topic, count }) {
  await admin.createPartitions({ topicPartitions: [{ topic, count }] })
}

async function deleteTopic(admin, { topic }) {
  await admin.deleteTopics({ topics: [topic] })
}

async function describeTopic(admin, { topic }) {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  const partitions = topics[0].partitions.sort((a, b) => a.partitionId - b.partitionId)
  return partitions.map(p => [p.partitionId, p.leader, p.replicas, p.isr])
}

async function describeCluster(admin) {
  const found = await admin.describeCluster()
  const nodes = found.brokers.map(({ nodeId, host, port }) => [nodeId, host, port])
  return { cluster_id: found.clusterId, controller: found.controller, nodes }
}

async function describeConfigs(admin, { kind, name }) {
  const type = ConfigResourceTypes[kind.toUpperCase()]
  const found = await admin.describeConfigs({ resources: [{ type, name }], includeSynonyms: false })
  return Object.fromEntries(
    found.resources[0].configEntries.map(entry => [
      entry.configName,
      [entry.configValue, entry.configSource !== DEFAULT_CONFIG],
    ])
  )
}

// Its request replaces what is set: what is not named has its default again.
async function alterConfigs(admin, step) {
  const configEntries = Object.entries(step.set).map(([name, value]) => ({ name, value }))
  const type = ConfigResourceTypes[step.kind.toUpperCase()]
  const resources = [{ type, name: step.name, configEntries }]
  await admin.alterConfigs({ validateOnly: false, resources })
}

async function offsets(admin, { topic, partition, times }) {
  const mine = rows => rows.find(row => row.partition === partition)
  const { low, high } = mine(await admin.fetchTopicOffsets(topic))
  const found = []
  for (const time of times) {
    if (time === 'earliest') found.push(Number(low))
    else if (time === 'latest') found.push(Number(high))
    else {
      const { offset } = mine(await admin.fetchTopicOffsetsByTimestamp(topic, time))
      found.push(offset === high ? null : Number(offset)) // the end stands for none
    }
  }
  return found
}

const bytes = content => (content === null ? null : Buffer.from(content, 'base64'))

function message([partition, timestamp, key, value, pairs]) {
  const headers = {}
  for (const [name, content] of pairs) {
    headers[name] = name in headers ? [headers[name], bytes(content)].flat() : bytes(content)
  }
  const at = timestamp === null ? undefined : String(timestamp)
  return { partition, timestamp: at, key: bytes(key), value: bytes(value), headers }
}

async function* batches(file) {
  let messages = []
  let size = 0
  for await (const line of createInterface({ input: createReadStream(file) })) {
    messages.push(message(JSON.parse(line)))
    size += line.length
    if (size > REQUEST_BYTES) {
      yield messages
      messages = []
      size = 0
    }
  }
  if (messages.length > 0) yield messages
}

async function produce(step) {
  const producer = kafka(step).producer({
    idempotent: step.idempotent,
    allowAutoTopicCreation: false,
    createPartitioner: () => ({ message: { partition } }) => partition,
  })
  await producer.connect()
  try {
    const offsets = []
    for await (const messages of batches(step.file)) {
      const sent = { topic: step.topic, acks: ACKS[step.acks], compression: CODECS[step.codec], messages }
      const written = await producer.send(sent)
      const next = new Map(written.map(({ partition, baseOffset }) => [partition, Number(baseOffset)]))
      for (const { partition } of messages) {
        offsets.push(next.get(partition))
        next.set(partition, next.get(partition) + 1)
      }
    }
    return offsets
  } finally {
    await producer.disconnect()
  }
}

const text = content => (content === null ? null : content.toString('base64'))

function row(partition, { offset, timestamp, key, value, headers }) {
  const pairs = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map(content => [name, text(content)])
  )
  return [partition, Number(offset), Number(timestamp), text(key), text(value), pairs]
}

// What is processed is committed; what a rebalance refuses, another member processes again.
async function subscribe(step) {
  const consumer = kafka(step).consumer({
    groupId: step.group,
    sessionTimeout: step.session_ms,
    heartbeatInterval: Math.floor(step.session_ms / 6),
    maxWaitTimeInMs: 200,
  })
  let count = 0
  await consumer.connect()
  try {
    const topic = step.expression ? new RegExp(step.topic) : step.topic
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch: { topic, partition, messages }, resolveOffset }) => {
        const rows = messages.map(each => `${JSON.stringify(row(partition, each))}\n`)
        appendFileSync(step.file, rows.join(''))
        count += messages.length
        const last = messages[messages.length - 1].offset
        resolveOffset(last)
        const offset = String(Number(last) + 1)
        await consumer.commitOffsets([{ topic, partition, offset }]).catch(() => {})
      },
    })
    while (!existsSync(step.until)) await setTimeout(200)
  } finally {
    await consumer.disconnect()
  }
  return count
}

const STEPS = {
  ...transactions(kafka),
  create_topic: administer(createTopic),
  create_partitions: administer(createPartitions),
  delete_topic: administer(deleteTopic),
  list_topics: administer(admin => admin.listTopics()),
  describe_topic: administer(describeTopic),
  describe_cluster: administer(describeCluster),
  describe_configs: administer(describeConfigs),
  alter_configs: administer(alterConfigs),
  offsets: administer(offsets),
  produce,
  subscribe,
}

// The code of the first error of the broker's within an error.
function codeOf(error) {
  if (!error) return -1
  if (typeof error.code === 'number') return error.code
  return codeOf((error.errors || [])[0] || error.cause)
}

async function answer({ do: name, ...step }) {
  try {
    return { result: (await STEPS[name](step)) ?? null }
  } catch (error) {
    console.error(error)
    return { error: codeOf(error), message: String(error) }
  }
}

async function main() {
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`)
  }
}

ZstdCodec.run(zstd => {
  useCodecs(new zstd.Simple())
  main()
})
