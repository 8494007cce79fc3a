// A key-value store on bbolt:
//
//	store put FILE KEY VALUE    one transaction; makes FILE if there is none
//	store check FILE [KEY...]   opens FILE as a restart does, reads all items, and looks for the keys
package main

import (
	"fmt"
	"os"

	bolt "go.etcd.io/bbolt"
)

var bucket = []byte("bucket")

func put(db *bolt.DB, key, value string) error {
	return db.Update(func(tx *bolt.Tx) error {
		items, err := tx.CreateBucketIfNotExists(bucket)
		if err != nil {
			return err
		}
		return items.Put([]byte(key), []byte(value))
	})
}

func check(db *bolt.DB, keys []string) error {
	return db.View(func(tx *bolt.Tx) error {
		found := map[string]bool{}
		if items := tx.Bucket(bucket); items != nil {
			if err := items.ForEach(func(key, value []byte) error { found[string(key)] = true; return nil }); err != nil {
				return err
			}
		}
		for _, key := range keys {
			if !found[key] {
				return fmt.Errorf("%s is lost", key)
			}
		}
		return nil
	})
}

func run(args []string) error {
	if len(args) < 2 || args[0] == "put" && len(args) != 4 || args[0] != "put" && args[0] != "check" {
		return fmt.Errorf("usage: store put FILE KEY VALUE | store check FILE [KEY...]")
	}
	db, err := bolt.Open(args[1], 0644, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	if args[0] == "put" {
		return put(db, args[2], args[3])
	}
	return check(db, args[2:])
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
