// Items in bbolt: store setup|run|check|dump FOLDER [COUNT].
//
// run puts COUNT items, each in a transaction of its own, and prints "stored KEY" when bbolt has committed it. check is
// the restart: it opens the file, which it may make, and reads all items.
package main

import (
	"fmt"
	"os"
	"strconv"

	bolt "go.etcd.io/bbolt"
)

var bucket = []byte("bucket")

func need(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func put(db *bolt.DB, key string) {
	need(db.Update(func(tx *bolt.Tx) error {
		items, err := tx.CreateBucketIfNotExists(bucket)
		if err != nil {
			return err
		}
		return items.Put([]byte(key), []byte("value of "+key))
	}))
	fmt.Println("stored", key)
}

func main() {
	verb := os.Args[1]
	db, err := bolt.Open(os.Args[2]+"/items.db", 0644, nil)
	need(err)
	switch verb {
	case "setup":
		put(db, "first")
	case "run":
		count := 3
		if len(os.Args) > 3 {
			count, err = strconv.Atoi(os.Args[3])
			need(err)
		}
		for number := 0; number < count; number++ {
			put(db, fmt.Sprintf("key %d", number))
		}
	default:
		need(db.View(func(tx *bolt.Tx) error {
			items := tx.Bucket(bucket)
			if items == nil {
				return nil
			}
			return items.ForEach(func(key, value []byte) error {
				if verb == "dump" {
					fmt.Printf("%s: %s\n", key, value)
				}
				return nil
			})
		}))
	}
	need(db.Close())
}
