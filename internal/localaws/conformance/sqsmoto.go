package conformance

// sqsMotoDifferences are those of SQS, as motoDifferences.
func sqsMotoDifferences() []difference {
	return []difference{
		{"moto does not check the names and values of queue attributes, nor what a redrive policy says", []string{
			"sqs/queue/bad name",
			"sqs/queue/attributes/bad values",
			"sqs/queue/attributes/unknown",
			"sqs/queue/attributes/FIFO for ever",
			"sqs/queue/redrive policy",
		}},
		{"moto lists all queues on one page", []string{
			"sqs/queue/list",
		}},
		{"moto knows no waiting time after a queue's deletion or purge", []string{
			"sqs/queue/deleted",
			"sqs/queue/purge",
		}},
		{"moto leaves message attributes out of a message's size, and does not check their names, values and number", []string{
			"sqs/message/largest",
			"sqs/refused/attribute names",
			"sqs/refused/attribute values",
			"sqs/refused/11 attributes",
		}},
		{"moto does not tell where a message in a dead-letter queue came from", []string{
			"sqs/message/dead-letter queue",
		}},
		{"moto accepts an empty body, and characters that are none of XML's", []string{
			"sqs/refused/characters",
			"sqs/refused/empty body",
			"sqs/batch/some refused",
		}},
		{"moto does not check the ids of groups and of de-duplication, and takes the latter in a standard queue", []string{
			"sqs/refused/de-duplication id in a standard queue",
			"sqs/fifo/parameters",
		}},
		{"moto changes the visibility of visible messages, and accepts a time below 0", []string{
			"sqs/visibility/out of bounds",
			"sqs/visibility/not in flight",
		}},
		{"moto refuses a whole batch for one message without a group", []string{
			"sqs/fifo/batch in order",
		}},
		{"moto forgets a de-duplication id with its message", []string{
			"sqs/fifo/duplicate of a deleted message",
		}},
		{"moto deletes from a FIFO queue after the visibility time-out", []string{
			"sqs/fifo/late delete",
		}},
	}
}
