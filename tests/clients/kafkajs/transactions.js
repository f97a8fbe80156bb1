'use strict'

const TIMEOUT_MS = 30_000

module.exports = kafka => {
  // What `use` returns, given a producer that is connected.
  async function withProducer(step, use) {
    const producer = kafka(step).producer({
      transactionalId: step.id,
      transactionTimeout: step.timeout_ms || 60_000,
      maxInFlightRequests: 1,
      idempotent: true,
      createPartitioner: () => ({ message: { partition } }) => partition,
    })
    await producer.connect()
    try {
      return await use(producer)
    } finally {
      await producer.disconnect()
    }
  }

  const write = (transaction, topic, values) =>
    transaction.send({ topic, messages: values.map(([partition, value]) => ({ partition, value })) })

  const end = (transaction, commits) => (commits ? transaction.commit() : transaction.abort())

  async function transact(step) {
    await withProducer(step, async producer => {
      for (const { values, commits } of step.transactions) {
        const transaction = await producer.transaction()
        await write(transaction, step.topic, values)
        await end(transaction, commits)
      }
    })
  }

  async function committed(step) {
    const admin = kafka(step).admin()
    await admin.connect()
    try {
      const [{ partitions }] = await admin.fetchOffsets({ groupId: step.group, topics: [step.topic] })
      const offset = Number(partitions[0].offset)
      return offset === -1 ? null : offset
    } finally {
      await admin.disconnect()
    }
  }

  // Copies a partition with the offsets that were read; the first transaction is aborted.
  async function copy(step) {
    const size = Math.max(1, Math.floor(step.count / 3))
    const result = {}
    const consumer = kafka(step).consumer({ groupId: step.group, readUncommitted: false })
    await consumer.connect()
    await consumer.subscribe({ topics: [step.topic], fromBeginning: true })
    await withProducer(step, async producer => {
      async function copySome(messages, commits) {
        const transaction = await producer.transaction()
        await write(transaction, step.to, messages.map(each => [0, each.value.toString()]))
        const offset = String(Number(messages[messages.length - 1].offset) + 1)
        const topics = [{ topic: step.topic, partitions: [{ partition: 0, offset }] }]
        await transaction.sendOffsets({ consumerGroupId: step.group, topics })
        await end(transaction, commits)
      }

      let copied = 0
      let timer
      await new Promise((resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`${copied} records were copied`)), TIMEOUT_MS)
        const eachBatch = async ({ batch: { messages } }) => {
          try {
            while (messages.length > 0 && copied < step.count) {
              if (!('after_abort' in result)) {
                await copySome(messages.slice(0, size), false)
                result.after_abort = await committed(step)
              }
              const some = messages.splice(0, size)
              await copySome(some, true)
              copied += some.length
            }
            if (copied >= step.count) resolve()
          } catch (error) {
            reject(error)
          }
        }
        consumer.run({ autoCommit: false, eachBatch }).catch(reject)
      }).finally(() => clearTimeout(timer))
      await consumer.disconnect()
    })
    return { ...result, committed: await committed(step) }
  }

  // A second producer of one transactional id commits; then the first one tries to.
  const fence = step =>
    withProducer(step, async zombie => {
      const old = await zombie.transaction()
      await write(old, step.topic, [[0, 'zombie']])
      await transact({ ...step, transactions: [{ values: [[0, 'new']], commits: true }] })
      try {
        await old.commit()
        return null
      } catch (error) {
        return error.type || error.name
      }
    })

  // A transaction that is open longer than it may be, by the error of the record after it.
  const expire = step =>
    withProducer(step, async producer => {
      const transaction = await producer.transaction()
      const deadline = Date.now() + TIMEOUT_MS
      const result = {}
      try {
        while (Date.now() < deadline) await write(transaction, step.topic, [[0, 'late']])
      } catch (error) {
        result.error = error.type || error.name
      }
      try {
        await transaction.abort()
        const next = await producer.transaction()
        await write(next, step.topic, [[0, 'after']])
        await next.commit()
        result.continues = true
      } catch (error) {
        result.continues = false
        result.fatal = error.type || error.name
      }
      return result
    })

  return { transact, copy, fence, expire }
}
