package conformance

import "slices"

// The differences of moto 5.2.1. The document that decides is in each case the
// one that the case itself names.

// KnownMoto returns the cases in which moto answers otherwise than AWS, with
// the reasons, for [Target].Known.
func KnownMoto() map[string]string {
	known := map[string]string{}
	for _, difference := range slices.Concat(motoDifferences(), sqsMotoDifferences()) {
		for _, name := range difference.cases {
			known[name] = difference.reason
		}
	}
	return known
}

// UnsteadyMoto returns the cases that moto fails on some runs only, for
// [Target].Skip.
func UnsteadyMoto() map[string]string {
	return map[string]string{
		"transaction/one winner of a race": "moto takes no lock over a transaction: of racing ones some end in an internal error",
		"sqs/fifo/attributes":              "moto draws sequence numbers at random, and they grow by chance",
	}
}

type difference struct {
	reason string
	cases  []string
}

func motoDifferences() []difference {
	return []difference{
		{"moto accepts what AWS refuses in the making of a table: short, long and odd names, wrong schemas, a stream without a view type, a page too large", []string{
			"table/create/bad name",
			"table/create/bad schema",
			"table/create/stream without view type",
			"table/list/bad limit",
		}},
		{"moto answers ResourceInUseException when a stream is enabled twice, as AWS's documents once said, and accepts to disable none", []string{
			"table/update/stream on again",
			"table/update/stream off again",
		}},
		{"moto lets the time to live be set to what it is, and reports a missing table with the code ResourceNotFound, without Exception", []string{
			"ttl/enable twice",
			"ttl/disable unset",
			"ttl/missing table",
		}},
		{"moto fails inside on an UpdateItem without an expression, which AWS takes for the making of an item with its key only", []string{
			"item/update/without an expression",
			"stream/source/update without an expression",
		}},
		{"moto's limit for an item is 405 000 bytes, AWS's 400 KB are 409 600", []string{
			"item/size/largest",
		}},
		{"moto keeps numbers as the text they came in: not normalised, so that equal numbers are two keys and two members of a set; and it does not bound them", []string{
			"type/number/normalised",
			"type/number/out of range",
			"type/number/same value same key",
			"update/add/number set",
			"stream/record/numbers are normalised",
			"stream/source/none for an update that changes nothing",
		}},
		{"moto does not validate values: nesting, empty and repeated members of sets, numbers in expressions", []string{
			"type/nested 32 levels",
			"type/set/empty",
			"type/set/duplicates",
			"placeholder/invalid value",
		}},
		{"moto validates keys on PutItem only, and there not all", []string{
			"key/get/invalid",
			"key/update/invalid",
			"key/delete/invalid",
			"key/empty binary sort key",
			"batch/get/an invalid key",
		}},
		{"moto fails inside when a condition compares two types; AWS takes it for false", []string{
			"condition/less/other type",
		}},
		{"moto's begins_with compares binaries by their base64, which shares no prefix", []string{
			"condition/begins_with/binary",
		}},
		{"moto reads no line break in a condition, and no tab in an update", []string{
			"condition/white space",
			"update/white space",
		}},
		{"moto fails inside on a condition that it cannot parse or resolve; AWS answers ValidationException", []string{
			"condition/refused/syntax",
			"condition/refused/trailing text",
			"condition/refused/unknown function",
			"condition/refused/function in capitals",
			"condition/refused/unbalanced",
			"condition/refused/bare path",
			"condition/refused/size alone",
			"condition/refused/undefined value",
			"condition/refused/undefined name",
			"condition/refused/too few operands",
			"condition/refused/between of two types",
		}},
		{"moto evaluates a condition whose operands AWS refuses, to false", []string{
			"condition/refused/begins_with a number",
			"condition/refused/attribute_type unknown",
			"condition/refused/attribute_type not a string",
			"condition/refused/between wrong way round",
			"condition/in/101 values",
		}},
		{"moto appends list elements in the order of the expression, AWS in the order of their indexes", []string{
			"update/set/several beyond the list",
		}},
		{"moto accepts, or fails inside on, updates that AWS refuses", []string{
			"update/refused/nested in no map",
			"update/refused/overflow",
			"update/refused/undefined name",
		}},
		{"moto looks for unused placeholders in UpdateItem, and in Query for names only", []string{
			"placeholder/unused in put",
			"placeholder/unused in query",
		}},
		{"moto projects one element of a list, and accepts malformed projections", []string{
			"projection/list elements close up",
			"projection/refused",
		}},
		{"moto accepts key conditions, filters, limits and start keys that AWS refuses, or fails inside on them", []string{
			"query/condition/refused",
			"query/condition/begins_with number",
			"query/filter/key attribute",
			"query/select/COUNT with a projection",
			"query/page/bad limit",
			"query/page/bad start key",
			"scan/bad segments",
		}},
		{"moto's Scan returns the items though only their count was asked for", []string{
			"scan/projection and COUNT",
		}},
		{"moto does not validate a batch before it writes: too many, repeated and invalid requests, or none", []string{
			"batch/write/26",
			"batch/write/one item twice",
			"batch/write/an invalid item",
			"batch/write/empty",
			"stream/source/none for a refused batch",
		}},
		{"moto answers ValidationException where AWS cancels the transaction with the reason ValidationError", []string{
			"transaction/an update that cannot be applied",
			"transaction/an update that grows too large",
		}},
		{"moto does not bound a transaction's size, and does not validate its items as AWS does", []string{
			"transaction/4 MB",
			"transaction/malformed",
		}},
		{"moto ignores the client request token", []string{
			"transaction/token/repeated",
			"transaction/token/other parameters",
			"transaction/token/after its effect was undone",
			"transaction/token/too long",
			"stream/source/repeated transaction",
		}},
		{"moto's TransactGetItems ignores the projection, and has AWS's former limit of 25 items", []string{
			"transaction/get/projection",
			"transaction/get/101",
		}},
		{"moto makes up consumed capacity without regard to sizes, and gives none for a transaction", []string{
			"capacity/put",
			"capacity/get",
			"capacity/update and delete",
			"capacity/query adds sizes before rounding",
			"capacity/transaction",
			"capacity/batch write",
		}},
		{"moto ignores limit and filter in ListStreams and DescribeStream", []string{
			"stream/list/paging",
			"stream/describe/children of an open shard",
		}},
		{"moto finds a stream by its table, whatever the label", []string{
			"stream/describe/missing",
			"stream/iterator/unknown stream",
		}},
		{"moto writes two records for an update that creates an item, the first with its key only", []string{
			"stream/record/one for an update that creates",
		}},
		{"moto sends the base64 of the base64 of a binary key", []string{
			"stream/record/binary keys",
		}},
		{"moto writes a record for a put that changes nothing", []string{
			"stream/source/none for a put that changes nothing",
		}},
		{"moto does not know the iterator type AT_TIMESTAMP, which is newer", []string{
			"stream/iterator/AT_TIMESTAMP",
			"stream/iterator/AT_TIMESTAMP of a record",
			"stream/iterator/AT_TIMESTAMP before the oldest",
			"stream/iterator/AT_TIMESTAMP in the future",
		}},
		{"moto accepts bad arguments of the stream's calls, or fails inside on them", []string{
			"stream/iterator/unknown shard",
			"stream/iterator/bad arguments",
			"stream/iterator/garbage",
			"stream/page/limit of 1000",
		}},
		{"moto bounds a page by its records only, not by its size", []string{
			"stream/page/at most 1 MB",
		}},
		{"moto fails inside on every call to a stream that was disabled, and closes no shard", []string{
			"stream/disabled/shards are closed",
			"stream/disabled/data stays readable to the end",
			"stream/disabled/records lie in the shard's range",
			"stream/disabled/LATEST ends",
			"stream/disabled/iterator from before",
			"stream/disabled/no more records",
			"stream/enabled again/new stream",
			"stream/enabled again/shards are not shared",
			"stream/enabled again/both are listed",
		}},
	}
}
