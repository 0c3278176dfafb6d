; No dependencies: the jar holds only the Python sources and their data (sparse copies src/ to
; _resources/resources), so Leiningen needs no Maven repository and works without a network.
(defproject stormcut-ledger "0.1.0"
  :description "A topology that keeps books of every tuple"
  :license {:name "Apache-2.0"}
  :resource-paths ["_resources"]
  :target-path "_build"
  :min-lein-version "2.0.0"
  :jvm-opts ["-client"]
  :dependencies [])
