package queue

// maxEntries is how many entries a batch can have.
const maxEntries = 10

// CheckBatch checks the ids of a batch's entries.
func CheckBatch(ids []string) error {
	if len(ids) == 0 {
		return refuse(EmptyBatch, "There should be at least one entry in the request.")
	}
	if len(ids) > maxEntries {
		return refuse(TooManyEntries, "Maximum number of entries per request are %d. You have sent %d.", maxEntries, len(ids))
	}
	seen := map[string]bool{}
	for _, id := range ids {
		if len(id) > maxName || !plain(id) {
			return refuse(InvalidID, "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most %d letters long.", maxName)
		}
		if seen[id] {
			return refuse(IDsNotDistinct, "Id %s repeated.", id)
		}
		seen[id] = true
	}
	return nil
}

// CheckBatchSize checks the size of a batch's messages together.
func CheckBatchSize(drafts []Draft) error {
	total := 0
	for _, d := range drafts {
		total += d.Size()
	}
	if total > MaxSize {
		return refuse(BatchTooLong, "Batch requests cannot be longer than %d bytes. You have sent %d bytes.", MaxSize, total)
	}
	return nil
}
